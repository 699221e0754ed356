// Where messages about machines go, and who can tell that they are the Worker's.
import { mutantsOf } from "../mutant.ts";

const ADDRESS = "worker/fleet/webhook-address.ts";
const ADDRESS_TEST = "worker/fleet/webhook-address.test.ts";
const SEND = "worker/fleet/send-letter.ts";
const LETTERS_TEST = "worker/fleet/letters.test.ts";

export const notificationMutants = [
  ...mutantsOf("whoever names a receiver's address", [
    [
      "no private address of a receiver",
      ADDRESS,
      "return !NOT_PUBLIC_V4.some((range) => contains(range, ip));",
      "return true;",
      ADDRESS_TEST,
      "loopback as one number",
    ],
    [
      "no redirect is followed",
      SEND,
      'redirect: "manual"',
      'redirect: "follow"',
      LETTERS_TEST,
      "is signed as Standard Webhooks has it",
    ],
    [
      "little of an answer is read",
      SEND,
      "value.subarray(0, most - read)",
      "value",
      LETTERS_TEST,
      "that refuses, by a test",
    ],
  ]),
  ...mutantsOf("whoever knows a receiver's address", [
    [
      "the signature covers the body",
      SEND,
      "`${message}.${timestamp}.${body}`",
      "`${message}.${timestamp}.`",
      LETTERS_TEST,
      "is signed as Standard Webhooks has it",
    ],
  ]),
];
