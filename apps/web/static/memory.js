// What this browser remembers: settings for good; until the tab is closed the score, the game under
// way, the one that was left for another, and the id of the training that is watched.
// A game: {seats, board, moves, first, seed, guide, shown}.

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
