// Makes hostile frames about questions. All of them close the socket: those of another form at once, and well-formed ones
// with another MAC once there are too many, since the gateway ignores a few.
import { ASKING_LIMITS } from "../../../../../shared/protocol/limits.ts";
import type { Random } from "../../random.ts";
import type { FrameKind } from "../shot.ts";

const mac = (random: Random) =>
  Array.from({ length: 22 }, () => random.pick("ABCDEFabcdef0123456789-_".split(""))).join("");

const signed = (random: Random, frame: object) => `${JSON.stringify(frame)}\n${mac(random)}`;

/** More frames than the gateway accepts for answers that have ended: each costs 1 KiB at least. */
const STRAYS = 2 * ASKING_LIMITS.ofMachineAtOnce * (ASKING_LIMITS.creditBytes / ASKING_LIMITS.leastCostBytes);

export const questionKinds: Readonly<Record<string, FrameKind>> = {
  "questions of another key, often": ({ random }) => ({
    text: signed(random, { type: "questions", on: ["disks", "logs"] }),
    times: 2 * ASKING_LIMITS.namingsAtOnce,
  }),
  "parts of no question": ({ random }) => ({
    text: signed(random, { type: "part", id: 1 + random.int(3), n: 1, text: "forged\n" }),
    times: STRAYS,
  }),
  "ends of no question": ({ random }) => ({
    text: signed(random, { type: "end", id: 1 + random.int(3), n: 1, end: { reason: "complete" } }),
    times: STRAYS,
  }),
  "a frame about questions of another form": ({ random }) => ({
    text: signed(
      random,
      random.pick<object>([
        { type: "questions" },
        { type: "questions", on: "disks" },
        { type: "questions", on: Array.from({ length: ASKING_LIMITS.questions + 1 }, () => "disks") },
        { type: "questions", on: ["x".repeat(ASKING_LIMITS.nameLength + 1)] },
        { type: "questions", on: ["\u001B[2J"] },
        { type: "part", id: 0, n: 1, text: "" },
        { type: "part", id: 1, n: 2 ** 53, text: "" },
        { type: "part", id: 1, n: 1, base64: "*" },
        { type: "part", id: 1, n: 1, text: 7 },
        { type: "end", id: 1, n: 1, end: { reason: "news" } },
        {
          type: "end",
          id: 1,
          n: 1,
          end: { reason: "failed", fault: "x".repeat(ASKING_LIMITS.faultLength + 1) },
        },
        { type: "question", id: 1, credit: 1, question: { name: "disks", parameters: {} }, asker: "x" },
        { type: "credit", id: 1, bytes: 2 ** 40 },
      ]),
    ),
  }),
  "a frame about questions without its MAC": ({ random }) => ({
    text: JSON.stringify({ type: "part", id: 1, n: 1 + random.int(3), text: "forged" }),
  }),
  "a part larger than a frame": ({ random }) => ({
    text: signed(random, { type: "part", id: 1, n: 1, text: "x".repeat(2 * ASKING_LIMITS.frameBytes) }),
  }),
};
