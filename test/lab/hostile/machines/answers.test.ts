// Tests the tricks with answers to questions: each is sent under the question's ID, and what is forged says so.
import { expect, it, test } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import type { TransportRequest } from "../../../../node-shim/worker-link/exchange.ts";
import { takenApart } from "../jwt.ts";
import { randomOf } from "../random.ts";
import { ANSWER_TRICKS, HostileAnswers } from "./answers.ts";

const question = { question: { name: "disks", parameters: {} }, asker: "alice" };

/** Answers this number of questions. Returns the kinds, and the requests. */
async function acted(questions: number, seed = 1) {
  const key = await makeMachineKey();
  const sent: TransportRequest[] = [];
  const credentials = { name: "hostile-00", origin: "https://rollcall.test", key, kid: "k", ticket: "" };
  const send = async (request: TransportRequest) => {
    sent.push(request);
    return { status: 200, body: "{}" };
  };
  const answers = new HostileAnswers(credentials, send, async (answer) => ({
    retryAfterMs: 0,
    isWanted: true,
    status: (await answer).status,
  }));
  const kinds = new Map<string, number>();
  for (let index = 0; index < questions; index++) {
    answers.take([{ id: `question-${index}`, ...question }]);
    const act = await answers.act(randomOf(seed, index), "honest-0");
    kinds.set(act!.kind, act!.answers.length);
  }
  const answered = [...sent];
  const stray = await answers.act(randomOf(seed, 3), "honest-0");
  return { kinds, sent: answered, stray };
}

test("of many questions → each trick, and those that go on", async () => {
  const { kinds } = await acted(200);
  expect([...kinds.keys()].toSorted()).toEqual(ANSWER_TRICKS.map((trick) => `answer, ${trick}`).toSorted());
  expect(kinds.get("answer, without an end")).toBe(20);
});

test("each request is signed for a question, and its text is the machine's own or forged", async () => {
  const { sent } = await acted(60);
  for (const { headers, body } of sent) {
    const [, token = ""] = headers["authorization"]!.split(" ");
    expect(takenApart(token).claims["ticket"]).toMatch(/^question-\d+$/);
    expect(body).toMatch(/"text":"(?:hostile-00 \d+ |forged)|"parts":"forged"|"base64":"\*"/);
  }
});

it.each([0, 1, 2, 3, 4, 5, 6, 7])(
  "no question is open (seed %d) → nothing, or what no asker gets",
  async (seed) => {
    const { stray } = await acted(0, seed);
    expect(stray?.kind ?? "nothing").toMatch(/^(?:nothing|answer, without a question)$/);
  },
);
