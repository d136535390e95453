// The way to this game on other devices: its address, and where a server runs a code of it.

import * as data from "./data.js";
import { fill, html } from "./dom.js";

const ONLY_HERE = /^(?:localhost|127\.|\[::1\]|$)/; // the names of this computer, and of a file on it

/** A box that is closed at first. link(): the address, asked for when the box is opened. */
export class Phones {
  constructor(link) {
    this.link = link;
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
    const { href, hostname } = new URL(this.link());
    if (ONLY_HERE.test(hostname))
      return html`<p>This page is on this computer only, where no phone can open it. Put the file of <code>make demo</code> on a web site: there its address stands here.</p>`;
    const code = data.codeOf(href);
    return [
      code && html`<img src=${code} alt="The address of this game as a code">`,
      html`<p><code>${href}</code></p>`,
    ];
  }
}
