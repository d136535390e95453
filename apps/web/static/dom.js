// Elements, pictures on buttons, and announcements for screen readers.

/** A new element. Attributes on... are listeners; null, undefined and false are left out. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** A new SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected")
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A button with a text, or with a picture and a name. */
export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** Have a screen reader say something. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A small coloured X or O. isNamed: whether text beside it says which; else it has a label. */
export function markIcon(side, isNamed = false) {
  const shape =
    side === "X"
      ? svg("path", { d: "M5 5l14 14M19 5l-14 14" })
      : svg("circle", { cx: 12, cy: 12, r: 7.5 });
  shape.setAttribute("class", `mark ${side.toLowerCase()}`);
  const name = isNamed ? { "aria-hidden": "true" } : { role: "img", "aria-label": side };
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", ...name }, shape);
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
  system: "M4 5.5h16v10.5H4zM9 19.5h6",
};

/** A picture on a button. */
export function icon(name) {
  const isSolid = ["first", "play", "last", "dark"].includes(name);
  const path = svg("path", { class: isSolid ? "glyph" : "glyph open", d: ICONS[name] });
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, path);
}
