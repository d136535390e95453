// Shows the page that belongs to an address. Links between pages are followed without a reload.

import { agentPage, agentsPage } from "./agents.js";
import { addressOf, here } from "./data.js";
import { announce, fill, html, icon, link, patiently } from "./dom.js";
import { gamePage, gamesPage } from "./games.js";
import { memory } from "./memory.js";
import { playPage } from "./play.js";

/** Loaded when it is asked for, since it works out all positions. */
const learnPage = async (...asked) => (await import("./learn.js")).learnPage(...asked);

/** Addresses, what makes their pages, and what is shown while they are made. */
const PAGES = [
  [/^\/$/, playPage, "Play", "Looking for the players"],
  [/^\/learn$/, learnPage, "Watch it learn", "Looking for the learners"],
  [/^\/games$/, gamesPage, "Games", "Looking for the games"],
  [/^\/games\/([^/]+)$/, gamePage, "A game", "Looking for the game"],
  [/^\/agents$/, agentsPage, "Players", "Looking for the players"],
  [/^\/agents\/(.+)$/, agentPage, "A player", "Working out every game that can be played against it"],
];

const main = document.getElementById("main");
let current = null;
let asked = new AbortController();

async function show(isFirst = false) {
  asked.abort();
  const { signal } = (asked = new AbortController());
  const [path, query] = here().split("?");
  const [pattern, make, title, what] = PAGES.find(([one]) => one.test(path)) ?? [];
  markNavigation(path);
  let page;
  try {
    if (!make) throw new Error(`There is no page at ${path}.`);
    const parts = pattern.exec(path).slice(1).map(decodeURIComponent);
    const making = make(parts, new URLSearchParams(query), signal);
    page = await patiently(making, (time) => {
      if (!signal.aborted) showWaiting(history.state?.title ?? title, what, time);
    });
  } catch (error) {
    page = { title: "Not found", element: missing(error) };
  }
  if (signal.aborted) return page.leave?.();
  current?.leave?.();
  current = page;
  fill(main, page.element);
  document.title = `${page.title} · tic-tac-toe`;
  if (isFirst) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
  announce(page.title);
}

/** Say what is worked out for a page, and for how long. */
function showWaiting(title, what, time) {
  const seconds = main.querySelector(".waiting .seconds");
  if (seconds) return fill(seconds, time);
  announce(`${what}.`);
  scrollTo(0, 0);
  fill(
    main,
    html`
      <div class="page wide waiting">
        <h1 tabindex="-1">${title}</h1>
        <p><span class="busy">${what} …</span><span class="seconds">${time}</span></p>
        <progress aria-label=${what}></progress>
      </div>`,
  );
}

/** title: of the page, if the link that leads there knows it, to be shown while it is made. */
function go(path, title) {
  history.pushState({ title }, "", addressOf(path));
  return show();
}

/** Go to a part of this page: the focus is there afterwards. */
function jump(id) {
  const target = document.getElementById(id) ?? main;
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

function markNavigation(path) {
  for (const one of document.querySelectorAll("nav a")) {
    const isHere = one.dataset.path === "/" ? path === "/" : path.startsWith(one.dataset.path);
    one.ariaCurrent = isHere ? "page" : null;
  }
}

const missing = (error) => html`
  <div class="page">
    <h1 tabindex="-1">Nothing here</h1>
    <p class="error">${error.message}</p>
    <p class="buttons">
      <a class="button primary" href="/">Play a game</a>
      <a class="button" href="/agents">See all players</a>
    </p>
  </div>`;

/** The body of the site that frames the page, whose switch of colours it follows, or else its own. */
function framing() {
  try {
    return parent.document.body;
  } catch {
    return document.body; // it is framed by a stranger
  }
}

/** The button that changes light colours into dark ones and back. theme.js sets them first. */
function coloursButton() {
  const button = html`<button type="button" class="round quiet colours"></button>`;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const site = framing();
  const names = () => (system.matches ? ["dark", "light"] : ["light", "dark"]); // the system's first
  const show = () => {
    const { theme } = site.dataset;
    const name = ["light", "dark"].includes(theme) ? theme : memory.get("colours", names()[0]);
    document.documentElement.dataset.colours = name;
    fill(button, icon(name), html`<span class="word">Colours</span>`);
    button.title = button.ariaLabel = `Colours: ${name}`;
  };
  button.addEventListener("click", () => {
    const [own, other] = names();
    memory.set("colours", memory.get("colours", own) === own ? other : null); // null: as the system
    show();
    announce(button.title);
  });
  system.addEventListener("change", show);
  new MutationObserver(show).observe(site, { attributeFilter: ["data-theme"] });
  show();
  return button;
}

document.addEventListener("click", (event) => {
  const clicked = event.target.closest("a[href]:not([download])");
  const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!clicked || event.button !== 0 || isOther) return;
  const { path, title } = clicked.dataset;
  if (!path && clicked.getAttribute("href")[0] !== "#") return;
  event.preventDefault();
  if (path) go(path, title);
  else jump(clicked.hash.slice(1));
});
addEventListener("popstate", () => show());

document.querySelectorAll("header a").forEach(link);
document.querySelector("nav").after(coloursButton());
show(true);
