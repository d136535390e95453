// The switch between light colours, dark ones, and those of the system. It is remembered.

import { announce, h, icon } from "./dom.js";
import { memory } from "./memory.js";

const NAMES = { system: "as the system", light: "light", dark: "dark" };
const ORDER = Object.keys(NAMES);

export function coloursButton() {
  const button = h("button", { type: "button", class: "round quiet colours" });
  const show = (chosen) => {
    if (chosen === "system") delete document.documentElement.dataset.colours;
    else document.documentElement.dataset.colours = chosen;
    button.replaceChildren(icon(chosen), h("span", { class: "word" }, "Colours"));
    const text = `Colours: ${NAMES[chosen]}`;
    button.setAttribute("aria-label", text);
    button.title = text;
  };
  const remembered = () => {
    const chosen = memory.get("colours", "system");
    return chosen in NAMES ? chosen : "system";
  };
  button.addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(remembered()) + 1) % ORDER.length];
    memory.set("colours", next);
    show(next);
    announce(`Colours ${NAMES[next]}.`);
  });
  show(remembered());
  return button;
}
