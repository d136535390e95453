// The way to this game on other devices: its address as a code that a phone reads.

import { fill, html } from "./dom.js";
import { pictureOf } from "./qr.js";

const ONLY_HERE = /^(?:localhost|127\.|\[::1\]|$)/; // the names of this computer, and of a file on it

/** A box that is closed at first. link(): the address, asked for when the box is opened. */
export class Phones {
  constructor(link) {
    this.link = link;
    this.content = html`<div class="code"></div>`;
    this.element = html`
      <details class="box phones" @toggle=${() => this.show()}>
        <summary>A code for phones</summary>${this.content}
      </details>`;
  }

  /** Draw the code of the game that is played now. */
  show() {
    if (this.element.open) fill(this.content, this.drawn());
  }

  drawn() {
    const { href, hostname } = new URL(this.link());
    if (ONLY_HERE.test(hostname))
      return html`<p>This page is on this computer only, where no phone can open it. Put the file of <code>make demo</code> on a web site: there the code stands here.</p>`;
    try {
      const { path, side } = pictureOf(href);
      return [
        html`<svg viewBox=${`0 0 ${side} ${side}`} role="img" aria-label="The address of this game as a code"><path d=${path}/></svg>`,
        html`<p><code>${href}</code></p>`,
      ];
    } catch (error) {
      return html`<p>This address is too long: ${error.message}.</p>`;
    }
  }
}
