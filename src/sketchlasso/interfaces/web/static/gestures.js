// Pointers, wheel and keys on a canvas, as pan, zoom, hover and tap.

const STILL = 5; // pixels that a tap may move

export class Gestures {
  #canvas;
  #act;
  #down = new Map();
  #start = null;
  #stop = new AbortController();

  constructor(canvas, act) {
    this.#canvas = canvas;
    this.#act = act;
    const options = { signal: this.#stop.signal };
    canvas.addEventListener("pointerdown", (event) => this.#press(event), options);
    canvas.addEventListener("pointermove", (event) => this.#move(event), options);
    canvas.addEventListener("pointerup", (event) => this.#lift(event, true), options);
    canvas.addEventListener("pointercancel", (event) => this.#lift(event, false), options);
    canvas.addEventListener("pointerleave", () => act.hover(null, null), options);
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false, ...options });
    canvas.addEventListener("keydown", (event) => act.key(event), options);
  }

  close() {
    this.#stop.abort();
  }

  #point(event) {
    const frame = this.#canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  #press(event) {
    if (event.button) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const point = this.#point(event);
    this.#down.set(event.pointerId, point);
    this.#start = this.#down.size === 1 ? point : null;
  }

  #move(event) {
    const point = this.#point(event);
    const before = this.#down.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.#act.hover(...point);
      return;
    }
    if (this.#start && Math.hypot(point[0] - this.#start[0], point[1] - this.#start[1]) > STILL) {
      this.#start = null; // a drag, no longer a tap
    }
    if (this.#down.size === 2) this.#pinch(event.pointerId, before, point);
    else if (!this.#start) this.#act.pan(point[0] - before[0], point[1] - before[1]);
    else return;
    this.#down.set(event.pointerId, point);
  }

  #pinch(id, before, point) {
    const [other] = [...this.#down].filter(([one]) => one !== id).map(([, at]) => at);
    const apart = (at) => Math.max(10, Math.hypot(at[0] - other[0], at[1] - other[1]));
    this.#act.pan((point[0] - before[0]) / 2, (point[1] - before[1]) / 2);
    this.#act.zoom(apart(point) / apart(before), (point[0] + other[0]) / 2, (point[1] + other[1]) / 2);
  }

  #lift(event, released) {
    const tapped = released && this.#start && this.#down.size === 1;
    this.#down.delete(event.pointerId);
    this.#start = null;
    if (tapped) this.#act.tap(...this.#point(event));
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    this.#act.zoom(Math.exp(-0.0016 * event.deltaY * lines), ...this.#point(event));
  }
}
