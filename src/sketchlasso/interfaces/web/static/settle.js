// Labels that overlap push each other apart and stay near their places.

const ROUNDS = 160;
const GAP = 5;
const HOME = 0.03;

function part(a, b) {
  const overlapX = (a.w + b.w) / 2 + GAP - Math.abs(a.x - b.x);
  const overlapY = (a.h + b.h) / 2 + GAP - Math.abs(a.y - b.y);
  if (overlapX <= 0 || overlapY <= 0) return;
  // Move them along the shorter way: up and down for most words.
  const along = overlapX < overlapY ? "x" : "y";
  const overlap = Math.min(overlapX, overlapY);
  const side = a[along] === b[along] ? (a.word < b.word ? -1 : 1) : Math.sign(a[along] - b[along]);
  const share = a.fixed || b.fixed ? 1 : 0.5;
  if (!a.fixed) a[along] += side * overlap * share;
  if (!b.fixed) b[along] -= side * overlap * share;
}

/** Change x and y of boxes {x, y, w, h, homeX, homeY, fixed}, so that they do not overlap and stay in the frame. */
export function settle(boxes, width, height) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const pull = HOME * (1 - round / ROUNDS);
    for (const box of boxes) {
      if (box.fixed) continue;
      box.x += pull * (box.homeX - box.x);
      box.y += pull * (box.homeY - box.y);
    }
    for (let i = 0; i < boxes.length; i += 1) {
      for (let j = i + 1; j < boxes.length; j += 1) part(boxes[i], boxes[j]);
    }
    for (const box of boxes) {
      box.x = Math.min(width - box.w / 2 - 2, Math.max(box.w / 2 + 2, box.x));
      box.y = Math.min(height - box.h / 2 - 2, Math.max(box.h / 2 + 2, box.y));
    }
  }
}
