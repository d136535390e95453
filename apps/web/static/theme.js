// Sets the colours that were chosen before anything is drawn, and whether another page frames this one.
document.documentElement.toggleAttribute("data-framed", self !== top);
try {
  const chosen = JSON.parse(localStorage.getItem("colours"));
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.colours = chosen;
} catch {
  // the browser remembers nothing: the colours of the system are used
}
