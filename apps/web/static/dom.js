// Elements from templates, marks and pictures, waiting, and announcements for screen readers.

import { addressOf } from "./data.js";

const HOLE = "hole:";
const PATIENCE = 300; // milliseconds before anything is said of what takes long

/**
 * The element of a template: html`<p class=${name} @click=${listener}>${content}</p>`. Content is
 * a text, an element, a list of these, or nothing: null, undefined, false. Of an attribute, true
 * sets it, and nothing leaves it out. @ is before an event; the server forbids inline listeners.
 */
export function html(texts, ...holes) {
  const place = (_, n) => (texts[n].endsWith("=") ? `"${HOLE}${n}"` : `<!--${HOLE}${n}-->`);
  const template = document.createElement("template");
  template.innerHTML = String.raw({ raw: texts }, ...holes.map(place)).trim();
  const { content } = template;
  const filled = (text) => (text.startsWith(HOLE) ? holes[text.slice(HOLE.length)] : text);
  for (const element of content.querySelectorAll("*"))
    for (const { name, value } of [...element.attributes])
      setAttribute(element, name, filled(value));
  content.querySelectorAll("a[href^='/']").forEach(link);
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_COMMENT);
  const comments = [];
  while (walker.nextNode()) comments.push(walker.currentNode);
  for (const comment of comments) comment.replaceWith(...shown(filled(comment.data)));
  return content.childNodes.length === 1 ? content.firstChild : content;
}

function setAttribute(element, name, value) {
  if (name[0] === "@") {
    element.removeAttribute(name);
    element.addEventListener(name.slice(1), value);
  } else if (typeof value === "string" || typeof value === "number")
    element.setAttribute(name, value);
  else element.toggleAttribute(name, Boolean(value));
}

/** Have a link lead to its path of the page, which is kept beside its address. */
export function link(element) {
  element.dataset.path ??= element.getAttribute("href");
  element.href = addressOf(element.dataset.path);
}

const shown = (...content) =>
  content.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);

/** Put content, as in a template, in the place of what an element holds. */
export const fill = (element, ...content) => element.replaceChildren(...shown(content));

/** Change the address that the browser shows for this page. */
export const showAddress = (path) => history.replaceState(history.state, "", addressOf(path));

/** Have a screen reader say something. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** The value of a promise. After a while, and then each second, `say` is called: " 2 s". */
export function patiently(promise, say) {
  const begun = performance.now();
  const count = () => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    say(seconds ? ` ${seconds} s` : "");
  };
  let timer = setTimeout(() => {
    count();
    timer = setInterval(count, 1000);
  }, PATIENCE);
  return promise.finally(() => (clearTimeout(timer), clearInterval(timer)));
}

/** The mark of a side, as large as its place. */
export const drawMark = (side, kind = "", box = "0 0 100 100") =>
  side === "X"
    ? html`<svg class=${kind} viewBox=${box} aria-hidden="true"><path class="mark x" pathLength="1" d="M28 28L72 72M72 28L28 72"/></svg>`
    : html`<svg class=${kind} viewBox=${box} aria-hidden="true"><circle class="mark o" pathLength="1" cx="50" cy="50" r="24"/></svg>`;

/** A small X or O in a text. isNamed: whether text beside it says which; else it has a label. */
export function markIcon(side, isNamed = false) {
  const icon = drawMark(side, "icon", "14 14 72 72");
  if (isNamed) return icon;
  icon.removeAttribute("aria-hidden");
  icon.role = "img";
  icon.ariaLabel = side;
  return icon;
}

const ICONS = {
  first: "M6 6v12M18 6l-8 6 8 6z",
  back: "M14.5 5.5L8 12l6.5 6.5",
  play: "M8.5 6l9.5 6-9.5 6z",
  pause: "M8 6v12M16 6v12",
  forward: "M9.5 5.5L16 12l-6.5 6.5",
  last: "M18 6v12M6 6l8 6-8 6z",
  swap: "M8 5v14M8 19l-3.5-4M8 19l3.5-4M16 19V5M16 5l-3.5 4M16 5l3.5 4",
  link: "M10 14l4-4M8.5 11l-2 2a3.2 3.2 0 0 0 4.5 4.5l2-2M15.5 13l2-2A3.2 3.2 0 0 0 13 6.5l-2 2",
  light:
    "M12 8.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4",
  dark: "M19 14.5A7.5 7.5 0 1 1 9.5 5a6 6 0 0 0 9.5 9.5z",
};
const SOLID = ["first", "play", "last", "dark"];

/** A picture on a button. */
export const icon = (name) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path class=${SOLID.includes(name) ? "glyph" : "glyph open"} d=${ICONS[name]}/>
  </svg>`;
