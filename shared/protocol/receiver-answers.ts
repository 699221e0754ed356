// What the Worker answers to operators about notifications. The command line validates answers by these schemas; the
// Worker imports their types alone. Times are RFC 3339.
import * as z from "zod/mini";

const filterShape = { selector: z.string(), names: z.string(), states: z.array(z.string()) };

const listedReceiver = z.object({
  name: z.string(),
  /** One of MESSAGE_FORMATS. */
  format: z.string(),
  /** Without its path, which may be a secret: `https://hooks.slack.com/…`. */
  url: z.string(),
  hasAuthorization: z.boolean(),
  ...filterShape,
  outagesOnly: z.boolean(),
  delaySeconds: z.number(),
  /** 0 for never. */
  repeatMinutes: z.number(),
  /** Letters that wait, that were given up and are kept, and that are not kept any more. */
  waiting: z.number(),
  dead: z.number(),
  dropped: z.number(),
  /** The number of alerts that were sent as firing. */
  firing: z.number(),
  /** Since when nothing arrives there; null: the last letter arrived. */
  failingSince: z.nullable(z.string()),
  /** Why the last delivery failed; "" if it arrived. */
  error: z.string(),
  /** The time of the next attempt; null if no delivery waits. */
  nextAttemptAt: z.nullable(z.string()),
});
/** A receiver without its secrets. */
export type ListedReceiver = z.infer<typeof listedReceiver>;

/** 200 to GET /v1/receivers, sorted by name. */
export const receiversSchema = z.object({ receivers: z.array(listedReceiver) });
export type ReceiversAnswer = z.infer<typeof receiversSchema>;

/** 201 to POST /v1/receivers, 200 to PUT: `secret` is the new signing secret, shown once; null: it stays as it was. */
export const changedReceiverSchema = z.extend(listedReceiver, { secret: z.nullable(z.string()) });
export type ChangedReceiver = z.infer<typeof changedReceiverSchema>;

/** 200 to POST /v1/receivers/{receiver}/test. */
export const receiverTestSchema = z.object({
  arrived: z.boolean(),
  /** The HTTP status; null without an answer. */
  status: z.nullable(z.number()),
  /** The beginning of the answer, or why there was none. */
  answer: z.string(),
  tookMs: z.number(),
});
export type ReceiverTest = z.infer<typeof receiverTestSchema>;

const listedLetter = z.object({
  id: z.number(),
  /** The header `webhook-id`. */
  message: z.string(),
  madeAt: z.string(),
  /** waiting, dead */
  state: z.string(),
  /** Why delivery was given up; "" if it still waits. */
  error: z.string(),
  /** The body that is sent. */
  body: z.string(),
});
export type ListedLetter = z.infer<typeof listedLetter>;

/** 200 to GET /v1/receivers/{receiver}/letters: the dead ones first, each kind oldest first. */
export const lettersSchema = z.object({ letters: z.array(listedLetter) });
export type LettersAnswer = z.infer<typeof lettersSchema>;

/** 201 to POST /v1/mutes. */
export const listedMuteSchema = z.object({
  id: z.number(),
  ...filterShape,
  from: z.string(),
  until: z.string(),
  comment: z.string(),
  /** The operator who made it. */
  who: z.string(),
});
export type ListedMute = z.infer<typeof listedMuteSchema>;

/** 200 to GET /v1/mutes: those that are not over; the one that ends last is the first. */
export const mutesSchema = z.object({ mutes: z.array(listedMuteSchema) });
export type MutesAnswer = z.infer<typeof mutesSchema>;
