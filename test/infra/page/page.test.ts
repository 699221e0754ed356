import { expect, it } from "vitest";
import { sayingsOf } from "../../../infra/page/page.ts";

function saying() {
  const later: (() => void)[] = [];
  const { sayings, say, unsay } = sayingsOf((act) => void later.push(act));
  const texts = () => sayings.value.map(({ text }) => text);
  return { texts, say, unsay, pass: () => later.splice(0).forEach((act) => act()), sayings };
}

it("news goes by itself, a fault stays until it is put away", () => {
  const { texts, say, unsay, pass, sayings } = saying();
  say("done");
  say("failed", "fault");
  expect(texts()).toEqual(["done", "failed"]);
  pass();
  expect(texts()).toEqual(["failed"]);
  unsay(sayings.value[0]!.id);
  expect(texts()).toEqual([]);
});

it("of more than four the latest are shown", () => {
  const { texts, say } = saying();
  for (const text of ["a", "b", "c", "d", "e"]) say(text, "fault");
  expect(texts()).toEqual(["b", "c", "d", "e"]);
});
