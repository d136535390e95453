// What tests/test_browser.py asks of a page: an expression that is evaluated there.
// contrasts: [text, ratio, ratio that WCAG 2.2 AA needs] of every text that is shown.
// nameless: what has no name for a screen reader. small: what is smaller than 24 pixels.
() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named =
    "button, a, select, input, summary, [role=img], [role=grid], [role=region], section";
  const isNameless = (one) =>
    !(
      one.getAttribute("aria-label") ||
      one.textContent.trim() ||
      one.labels?.[0]?.textContent.trim() ||
      one.querySelector("[aria-label]") ||
      one.closest("[aria-hidden]")
    );
  const isSmall = (one) => {
    const { width, height } = one.getBoundingClientRect();
    return one.checkVisibility() && (width < 24 || height < 24);
  };
  const numbers = (text) => text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
  const parse = (text) => {
    const srgb = text.startsWith("color(srgb");
    if (!srgb && !text.startsWith("rgb")) throw new Error("what colour is " + text);
    const [r, g, b, a = 1] = numbers(srgb ? text.slice(10) : text);
    return srgb ? [r, g, b, a] : [r / 255, g / 255, b / 255, a];
  };
  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ancestors = (one) => (one ? [one, ...ancestors(one.parentElement)] : []);
  const behind = (element) => {
    const layers = ancestors(element).map((at) => parse(getComputedStyle(at).backgroundColor));
    const solid = layers.findIndex((layer) => layer[3] === 1);
    return layers
      .slice(0, solid < 0 ? undefined : solid + 1)
      .reduceRight((below, layer) => over(layer, below), [1, 1, 1, 1]);
  };
  const hidden = "noscript, option, .hidden, :disabled",
    found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(),
      element = walker.currentNode.parentElement;
    const style = getComputedStyle(element),
      box = element.getBoundingClientRect();
    if (!text || box.width <= 1 || style.visibility === "hidden" || element.closest(hidden))
      continue;
    const opacity = ancestors(element).reduce((all, at) => all * getComputedStyle(at).opacity, 1);
    const back = behind(element),
      colour = parse(style.color);
    const front = over([...colour.slice(0, 3), colour[3] * opacity], back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    found.push([text.slice(0, 40), (high + 0.05) / (low + 0.05), large ? 3 : 4.5]);
  }
  return {
    contrasts: found,
    nameless: all(named)
      .filter(isNameless)
      .map((one) => one.outerHTML.slice(0, 80)),
    small: all("button, select, nav a")
      .filter(isSmall)
      .map((one) => one.outerHTML.slice(0, 80)),
    ids: all("[id]").map((one) => one.id),
    headings: all("h1, h2, h3").map((one) => one.tagName),
    animations: document.getAnimations().length,
    width: document.documentElement.scrollWidth,
  };
};
