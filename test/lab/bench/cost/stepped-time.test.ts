import { expect, test } from "vitest";
import { steppedTime } from "./stepped-time.ts";

test("a clock stands still until it is moved, and never goes back", () => {
  const time = steppedTime(1000);
  expect(time.nowMs()).toBe(1000);
  time.goTo(1500);
  expect(time.nowMs()).toBe(1500);
  time.goTo(1200);
  expect(time.nowMs()).toBe(1500);
});

test("timers run once, in order, at the step that passes them; a cancelled one does not", () => {
  const time = steppedTime(0);
  const rung: string[] = [];
  for (const [name, delayMs] of Object.entries({ late: 30, early: 10, later: 31 }))
    time.after(delayMs, () => rung.push(name));
  time.after(20, () => rung.push("ended"))();
  expect(time.nextMs()).toBe(10);
  time.goTo(30);
  expect(rung).toEqual(["early", "late"]);
  expect(time.nextMs()).toBe(31);
  time.goTo(31);
  expect(rung).toEqual(["early", "late", "later"]);
  expect(time.nextMs()).toBe(Number.POSITIVE_INFINITY);
});

test("a periodic call runs once in a long enough step, of any length", () => {
  const time = steppedTime(0);
  let runs = 0;
  const end = time.every(10, () => runs++);
  time.goTo(9);
  expect(runs).toBe(0);
  time.goTo(95);
  expect(runs).toBe(1);
  end();
  time.goTo(500);
  expect(runs).toBe(1);
});
