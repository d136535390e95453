// What this browser remembers: settings for good, a game under way and the score until the tab is
// closed.

const remembering = (storage) => ({
  get(name, otherwise) {
    try {
      return JSON.parse(storage().getItem(name)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      storage().setItem(name, JSON.stringify(value));
    } catch {
      // the browser stores nothing: remember nothing
    }
  },
});

export const memory = remembering(() => localStorage);
export const session = remembering(() => sessionStorage);
