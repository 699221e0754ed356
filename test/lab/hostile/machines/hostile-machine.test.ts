// Tests which answers a Worker may not give, and which acts of operators the audit log lacks.
import { expect, test } from "vitest";
import { outcomeOf } from "./hostile-machine.ts";
import { missing } from "./operator.ts";
import type { Answer } from "./sender.ts";

const answer = (status: number, more: Partial<Answer> = {}): Answer => ({ status, retryAfterMs: 0, ...more });
const LIMITED = "later; /vitals/errors/runtime is cut to 16 of 17 entries";
const refused = { factsRefused: { path: "", message: "" } };

test.each<[situation: string, Answer, isOver: boolean, fault: string | undefined]>([
  ["taken", answer(200, { phase: "registered" }), false, undefined],
  ["refused", answer(409), false, undefined],
  ["too often", answer(429), false, undefined],
  ["a bug", answer(500), false, "5xx"],
  ["the last of them", answer(599), false, "5xx"],
  ["nothing", answer(0), false, "no answer"],
  ["over a limit, its facts refused", answer(200, { phase: "registered", ...refused }), true, undefined],
  [
    "over a limit, its vitals limited",
    answer(200, { phase: "registered", message: LIMITED }),
    true,
    undefined,
  ],
  ["over a limit, refused as a whole", answer(400), true, undefined],
  ["over a limit, among clones", answer(200, { phase: "cloned" }), true, undefined],
  ["over a limit and accepted", answer(200, { phase: "registered" }), true, "over a limit and taken"],
])("%s", (_, answered, isOver, fault) => {
  expect(outcomeOf("kind", answered, isOver).fault).toBe(fault);
});

const DONE = [
  { what: "token.create", target: "t" },
  { what: "node.register", target: "a" },
  { what: "node.register", target: "a" },
];
test.each<[situation: string, found: [string, number][], lost: string[]]>([
  [
    "all are there",
    [
      ["token.create t", 1],
      ["node.register a", 2],
    ],
    [],
  ],
  [
    "more are there",
    [
      ["token.create t", 1],
      ["node.register a", 5],
    ],
    [],
  ],
  [
    "one of two is there",
    [
      ["token.create t", 1],
      ["node.register a", 1],
    ],
    ["node.register a"],
  ],
  ["none is there", [], ["token.create t", "node.register a", "node.register a"]],
])("of an operator's acts %s", (_, found, lost) => {
  expect(missing(DONE, new Map(found))).toEqual(lost);
});
