// Tests the questions before an act that cannot be undone.
import { expect, it } from "vitest";
import { confirmed } from "../../../infra/operator/confirm.ts";
import { failure, success } from "../../../shared/result.ts";

const WHAT = "edge-7: its keys are refused for ever";

it.each([
  ["y", success(null)],
  ["YES ", success(null)],
  ["", failure("nothing was changed")],
  ["n", failure("nothing was changed")],
  ["yesterday", failure("nothing was changed")],
  [undefined, failure("nothing was changed")],
])("a person who types %j → %o", async (typed, outcome) => {
  const asked: string[] = [];
  const ask = (question: string) => {
    asked.push(question);
    return Promise.resolve(typed);
  };
  expect(await confirmed(WHAT, {}, { isInteractive: true, ask })).toEqual(outcome);
  expect(asked).toEqual([`${WHAT}. Continue? [y/N] `]);
});

const nobody = { isInteractive: false, ask: () => Promise.reject(new Error("asked")) };

it("a script → is told to pass --yes, and nothing is asked", async () => {
  expect(await confirmed(WHAT, {}, nobody)).toEqual(
    failure(`${WHAT}. There is no terminal to ask at: pass --yes`),
  );
});

it("--yes → goes on without asking", async () => {
  expect(await confirmed(WHAT, { yes: true }, nobody)).toEqual(success(null));
});
