// Tests the list of the questions that a machine answers.
import { expect, test } from "vitest";
import { questions } from "../../../node-shim/questions/list.ts";
import { parseOwnQuestion } from "../../../node-shim/config/own-questions.ts";
import { questionsOn } from "../../../shared/protocol/questions.ts";
import { failure, valueOr } from "../../../shared/result.ts";
import { collected, played } from "./asking.ts";

test("the questions that are on → their bounds and parameters, with those of the owner", async () => {
  const raid = parseOwnQuestion(
    "own:raid",
    'description: the state of an array\nprogram: /bin/true\narguments: ["{array}", "{n}"]\nparameters: { array: { type: text, pattern: "md\\\\d+" }, n: { type: number, max: 3, default: "1" } }',
  );
  const on = valueOr(questionsOn(["units", "own:raid"]), new Set<never>());
  const own = new Map([["own:raid", raid] as const, ["own:off", failure("a fault")] as const]);
  expect(await collected(questions({}, played({}, { on, own })))).toEqual([
    " 10 s  1024 KiB  units [unit=NAME]",
    "    the failed units and restarted services, or the state of one unit",
    " 10 s  1024 KiB  questions",
    "    the questions that this machine answers, with their parameters; on with any other question",
    " 10 s  64 KiB  own:raid array=TEXT [n=1]",
    "    the state of an array",
    String.raw`      array: at most 256 characters that match md\d+`,
    "      n: a whole number from 0 to 3",
  ]);
});
