// Tests which answers of a machine an asker may not get.
import { expect, test } from "vitest";
import { faultOfAnswer } from "./asker.ts";

const own = '{"text":"a 1 x"}\n';
const end = '{"end":{"reason":"complete"}}\n';

test.each<[situation: string, text: string, fault: RegExp | null]>([
  ["its own parts, with empty lines between them, and its end", `\n${own}\n{"text":"a 2 x"}\n${end}`, null],
  ["an end alone", '{"end":{"reason":"stopped","fault":"late"}}\n', null],
  ["a forged part", `{"text":"forged"}\n${end}`, /^not its own/],
  ["another machine's part", `{"text":"ab 1 x"}\n${end}`, /^not its own/],
  ["a part twice", own + own + end, /^twice/],
  ["a part after its end", end + own + end, /^more after its end/],
  ["two ends", end + end, /^more after its end/],
  ["no end", own, /^no end/],
  ["nothing", "", /^no end/],
  ["another form", '{"news":1}\n', /^no line of an answer/],
])("%s", (_, text, fault) => {
  const found = faultOfAnswer("a", text);
  if (fault === null) expect(found).toBeNull();
  else expect(found).toMatch(fault);
});
