// Shows the page that belongs to an address. Links between pages are followed without a reload.

import { agentPage } from "./agent.js";
import { agentsPage } from "./agents.js";
import { coloursButton } from "./colours.js";
import { announce, h } from "./dom.js";
import { gamePage } from "./game.js";
import { gamesPage } from "./games.js";
import { playPage } from "./play.js";
import { waiting } from "./waiting.js";

const PAGES = [
  [/^\/$/, playPage, { title: "Play", what: "Looking for the players" }],
  [/^\/games$/, gamesPage, { title: "Games", what: "Looking for the games" }],
  [/^\/games\/([^/]+)$/, gamePage, { title: "A game", what: "Looking for the game" }],
  [/^\/agents$/, agentsPage, { title: "Players", what: "Looking for the players" }],
  [
    /^\/agents\/(.+)$/,
    agentPage,
    { title: "A player", what: "Working out every game that can be played against it" },
  ],
];

const main = document.getElementById("main");
let current = null;
let asked = new AbortController();

async function show(isFirst = false) {
  asked.abort();
  const { signal } = (asked = new AbortController());
  const { pathname, search } = location;
  const [pattern, make, about] = PAGES.find(([one]) => one.test(pathname)) ?? [];
  markNavigation(pathname);
  let page;
  const title = history.state?.title ?? about?.title;
  const done = make ? waiting(main, { ...about, title }, cancel) : () => {};
  signal.addEventListener("abort", done);
  try {
    if (!make) throw new Error(`There is no page at ${pathname}.`);
    const parts = pattern.exec(pathname).slice(1).map(decoded);
    page = await make(parts, new URLSearchParams(search), signal);
  } catch (error) {
    page = { title: "Not found", element: missing(error) };
  } finally {
    done();
  }
  if (signal.aborted) return page.leave?.();
  current?.leave?.();
  current = page;
  main.replaceChildren(page.element);
  document.title = `${page.title} · tic-tac-toe`;
  if (isFirst) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
  announce(page.title);
}

/** Leave a page that is being made: back to where one came from, or to the list of players. */
function cancel() {
  asked.abort();
  if (history.state?.isFollowed) history.back();
  else go("/agents");
}

/** title: of the page, if the link that leads there knows it, to be shown while it is made. */
function go(address, title) {
  history.pushState({ isFollowed: true, title }, "", address);
  return show();
}

/** Go to a part of this page: the focus is there afterwards. */
function jump(id) {
  const target = document.getElementById(id) ?? main;
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function markNavigation(pathname) {
  for (const link of document.querySelectorAll("nav a")) {
    const path = new URL(link.href).pathname;
    const isHere = path === "/" ? pathname === "/" : pathname.startsWith(path);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function missing(error) {
  return h(
    "div",
    { class: "page" },
    h("h1", { tabindex: "-1" }, "Nothing here"),
    h("p", { class: "error" }, error.message),
    h(
      "p",
      { class: "buttons" },
      h("a", { class: "button primary", href: "/" }, "Play a game"),
      h("a", { class: "button", href: "/agents" }, "See all players"),
    ),
  );
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (
    !link ||
    link.hasAttribute("download") ||
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
  if (link.getAttribute("href").startsWith("#")) return jump(address.hash.slice(1));
  go(address, link.dataset.title);
});
addEventListener("popstate", () => show());

document.querySelector("nav").after(coloursButton());
show(true);
