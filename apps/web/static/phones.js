// The way to this game on other devices: its address, and where a server runs a code of it.

import * as data from "./data.js";
import { fill, html } from "./dom.js";

const ONLY_HERE = /^(?:localhost|127\.|0\.0\.0\.0|\[::1?\]|$)/; // the names of this computer, and of a file on it

/**
 * A box that is closed at first. link(): the address, asked for when the box is opened. shared: the
 * beginning of the address for other devices, where the page is open on the computer of its server.
 */
export class Phones {
  constructor(link, shared) {
    this.link = link;
    this.shared = shared;
    this.content = html`<div class="code"></div>`;
    this.element = html`
      <details class="box phones" @toggle=${() => this.show()}>
        <summary>On a phone</summary>${this.content}
      </details>`;
  }

  /** Show the address of the game that is played now. */
  show() {
    if (this.element.open) fill(this.content, this.shown());
  }

  shown() {
    let { href, hostname, pathname, search } = new URL(this.link());
    if (ONLY_HERE.test(hostname)) {
      if (!this.shared)
        return html`<p>This page is on this computer only, where no phone can open it. ${data.FOR_PHONES}</p>`;
      href = this.shared + pathname + search;
    }
    const code = data.codeOf(href);
    return [
      code && html`<img src=${code} alt="The address of this game as a code">`,
      html`<p><code>${href}</code></p>`,
    ];
  }
}
