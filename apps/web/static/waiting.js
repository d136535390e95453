// What is shown while a page is being made: its heading, what is worked out, and how to leave.

import { announce, button, h } from "./dom.js";

const PATIENCE = 300; // milliseconds before anything is shown

/** Show that a page is being made, after a while. The function that is returned ends it. */
export function waiting(main, { title, what }, cancel) {
  const begun = performance.now();
  const seconds = h("span", { class: "seconds" });
  let counter;
  const timer = setTimeout(() => {
    main.replaceChildren(
      h(
        "div",
        { class: "page wide waiting" },
        h("h1", { tabindex: "-1" }, title),
        h("p", {}, h("span", { class: "busy" }, `${what} …`), seconds),
        h("progress", { "aria-label": what }),
        h("p", {}, button("Cancel", cancel)),
        h("div", { class: "skeleton", "aria-hidden": "true" }, h("span"), h("span"), h("span")),
      ),
    );
    scrollTo(0, 0);
    announce(`${what}.`);
    counter = setInterval(() => {
      seconds.textContent = ` ${Math.round((performance.now() - begun) / 1000)} s`;
    }, 1000);
  }, PATIENCE);
  return () => (clearTimeout(timer), clearInterval(counter));
}
