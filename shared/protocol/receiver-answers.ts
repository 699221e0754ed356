// What the Worker answers to operators about notifications. The command line validates answers by these schemas; the
// Worker imports their types alone. Times are RFC 3339.
import * as z from "zod/mini";

const filterShape = { selector: z.string(), names: z.string(), states: z.array(z.string()) };

const listedReceiver = z.object({
  name: z.string(),
  /** One of MESSAGE_FORMATS. */
  format: z.string(),
  /** Without its path, which is a secret with some: `https://hooks.slack.com/…`. */
  url: z.string(),
  hasAuthorization: z.boolean(),
  ...filterShape,
  outagesOnly: z.boolean(),
  delaySeconds: z.number(),
  /** 0: never. */
  repeatMinutes: z.number(),
  /** Letters that wait, that were given up and are kept, and that are not kept any more. */
  waiting: z.number(),
  dead: z.number(),
  dropped: z.number(),
  /** Alerts that were sent as firing. */
  firing: z.number(),
  /** Since when nothing arrives there; null: the last letter arrived. */
  failingSince: z.nullable(z.string()),
  /** Why; "": it did. */
  error: z.string(),
  /** When the next attempt is; null: nothing waits. */
  nextAttemptAt: z.nullable(z.string()),
});
/** A receiver as it is listed: never its secrets. */
export type ListedReceiver = z.infer<typeof listedReceiver>;

/** 200 to GET /v1/receivers; by name. */
export const receiversSchema = z.object({ receivers: z.array(listedReceiver) });
export type ReceiversAnswer = z.infer<typeof receiversSchema>;

/** 201 to POST /v1/receivers, 200 to PUT: `secret` is the new signing secret, shown once; null: it stays as it was. */
export const changedReceiverSchema = z.extend(listedReceiver, { secret: z.nullable(z.string()) });
export type ChangedReceiver = z.infer<typeof changedReceiverSchema>;

/** 200 to POST /v1/receivers/{receiver}/test. */
export const receiverTestSchema = z.object({
  arrived: z.boolean(),
  /** HTTP's; null: there was no answer. */
  status: z.nullable(z.number()),
  /** How the answer begins, or why there was none. */
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
  /** Why it was given up; "": it was not. */
  error: z.string(),
  /** As it is sent. */
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
  /** Who made it. */
  who: z.string(),
});
export type ListedMute = z.infer<typeof listedMuteSchema>;

/** 200 to GET /v1/mutes: those that are not over; the one that ends last is the first. */
export const mutesSchema = z.object({ mutes: z.array(listedMuteSchema) });
export type MutesAnswer = z.infer<typeof mutesSchema>;
