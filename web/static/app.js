// Shows the page that belongs to an address. Links between pages are followed without a reload.

import { agentPage, agentsPage } from "./agents.js";
import { announce, h } from "./dom.js";
import { gamePage, gamesPage } from "./games.js";
import { playPage } from "./play.js";

const PAGES = [
  [/^\/$/, (_, parameters) => playPage(parameters)],
  [/^\/games$/, (_, parameters) => gamesPage(parameters)],
  [/^\/games\/([^/]+)$/, ([id]) => gamePage(id)],
  [/^\/agents$/, () => agentsPage()],
  [/^\/agents\/(.+)$/, ([id]) => agentPage(id)],
];

const main = document.getElementById("main");
let current = null;
let shown = 0;

async function show(isFirst = false) {
  const number = ++shown;
  const { pathname, search } = location;
  const [pattern, make] = PAGES.find(([pattern]) => pattern.test(pathname)) ?? [];
  let page;
  try {
    if (!make) throw new Error(`There is nothing at ${pathname}.`);
    page = await make(
      pattern.exec(pathname).slice(1).map(decodeURIComponent),
      new URLSearchParams(search),
    );
  } catch (error) {
    page = { title: "Not found", element: missing(error) };
  }
  if (number !== shown) return page.leave?.();
  current?.leave?.();
  current = page;
  main.replaceChildren(page.element);
  document.title = `${page.title} · tic-tac-toe`;
  for (const link of document.querySelectorAll("nav a")) {
    const path = new URL(link.href).pathname;
    const isHere = path === "/" ? pathname === "/" : pathname.startsWith(path);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (isFirst) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus();
  announce(page.title);
}

function missing(error) {
  return h(
    "div",
    { class: "page" },
    h("h1", { tabindex: "-1" }, "Nothing here"),
    h("p", {}, error.message),
    h("p", {}, h("a", { href: "/" }, "Play a game")),
  );
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (
    !link ||
    event.button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const address = new URL(link.href);
  if (address.origin !== location.origin) return;
  event.preventDefault();
  if (link.getAttribute("href").startsWith("#")) return main.focus();
  history.pushState(null, "", address);
  show();
});
addEventListener("popstate", () => show());

show(true);
