// Defines the answers to operators about notifications. The Worker imports only the types. Times are RFC 3339.
import * as z from "zod/mini";

const filterShape = { selector: z.string(), names: z.string(), states: z.array(z.string()) };

const listedReceiver = z.object({
  name: z.string(),
  /** One of MESSAGE_FORMATS. */
  format: z.string(),
  /** The URL without its path, which may be a secret: `https://hooks.slack.com/…`. */
  url: z.string(),
  hasAuthorization: z.boolean(),
  ...filterShape,
  outagesOnly: z.boolean(),
  /** true if alerts have the machine's diagnosis. Earlier Workers do not send the field. */
  withDiagnosis: z.optional(z.boolean()),
  delaySeconds: z.number(),
  /** Minutes between repetitions of an alert; 0 means never. */
  repeatMinutes: z.number(),
  /** The numbers of deliveries: waiting ones, failed ones that are kept, and failed ones that were deleted. */
  waiting: z.number(),
  dead: z.number(),
  dropped: z.number(),
  /** The number of alerts that are firing for this receiver. */
  firing: z.number(),
  /** The time from which on no queued delivery has arrived; null if no delivery is retried. */
  failingSince: z.nullable(z.string()),
  /** The error of the retried delivery; "" if no delivery is retried. */
  error: z.string(),
  /** The time of the next attempt; null if no delivery waits. */
  nextAttemptAt: z.nullable(z.string()),
  /** The last attempt to deliver a message or a test; null if none is stored. Earlier Workers do not send the field. */
  lastDelivery: z.optional(
    z.nullable(z.object({ at: z.string(), arrived: z.boolean(), error: z.string(), isTest: z.boolean() })),
  ),
});
/** A receiver of notifications, without its secrets. */
export type ListedReceiver = z.infer<typeof listedReceiver>;

/** The body of a 200 answer to GET /v1/receivers, sorted by name. */
export const receiversSchema = z.object({ receivers: z.array(listedReceiver) });
export type ReceiversAnswer = z.infer<typeof receiversSchema>;

/** The answer to POST /v1/receivers (201) or PUT (200). `secret` is the new signing secret, shown once, or null. */
export const changedReceiverSchema = z.extend(listedReceiver, { secret: z.nullable(z.string()) });
export type ChangedReceiver = z.infer<typeof changedReceiverSchema>;

/** The body of a 200 answer to POST /v1/receivers/{receiver}/test. */
export const receiverTestSchema = z.object({
  arrived: z.boolean(),
  /** The HTTP status of the receiver's answer; null if there was no answer. */
  status: z.nullable(z.number()),
  /** The beginning of the receiver's answer, or the reason why there was none. */
  answer: z.string(),
  tookMs: z.number(),
});
export type ReceiverTest = z.infer<typeof receiverTestSchema>;

const listedLetter = z.object({
  id: z.number(),
  /** The value of the header `webhook-id`. */
  message: z.string(),
  madeAt: z.string(),
  /** `waiting` or `dead`. */
  state: z.string(),
  /** The reason why the delivery failed for good; "" if it still waits. */
  error: z.string(),
  /** The body of the request to the receiver. */
  body: z.string(),
});
export type ListedLetter = z.infer<typeof listedLetter>;

/** The 200 answer to GET /v1/receivers/{receiver}/letters: first failed, then waiting deliveries, oldest first. */
export const lettersSchema = z.object({ letters: z.array(listedLetter) });
export type LettersAnswer = z.infer<typeof lettersSchema>;

/** The body of a 201 answer to POST /v1/mutes. */
export const listedMuteSchema = z.object({
  id: z.number(),
  ...filterShape,
  from: z.string(),
  until: z.string(),
  comment: z.string(),
  /** The operator who created the mute. */
  who: z.string(),
});
export type ListedMute = z.infer<typeof listedMuteSchema>;

/** The body of a 200 answer to GET /v1/mutes: the mutes that have not ended, the one with the latest end first. */
export const mutesSchema = z.object({ mutes: z.array(listedMuteSchema) });
export type MutesAnswer = z.infer<typeof mutesSchema>;
