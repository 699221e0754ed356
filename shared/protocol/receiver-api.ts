// The bodies of operators' requests about notifications: receivers, and mutes. The answers are in receiver-answers.ts.
import * as z from "zod/mini";
import { LIMITS, NOTIFICATION_LIMITS as LIMIT } from "./limits.ts";
import { labelSelector, plainText, within } from "./schema.ts";

/** The states that a receiver can be notified of. */
export const ALERT_STATES = ["not-ready", "silent", "cluster-unreachable", "blocked", "revoked"] as const;

/** The forms of a receiver's messages. */
export const MESSAGE_FORMATS = ["json", "slack", "alertmanager"] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

const filterShape = {
  /** A label selector in kubectl's syntax: `site=berlin,tier!=gpu`. */
  selector: z._default(labelSelector(LIMITS.textLength), ""),
  /** A name, or a pattern whose `*` matches any text without a dot. "" matches all names. */
  names: z._default(
    z
      .string()
      .check(
        z.maxLength(LIMITS.nameLength),
        z.regex(/^[-.*a-z\d]*$/, "must be a name, or a pattern such as edge-*"),
      ),
    "",
  ),
};
const states = z.array(z.enum(ALERT_STATES)).check(z.minLength(1), z.maxLength(ALERT_STATES.length));

const url = z.string().check(z.minLength(1), z.maxLength(LIMITS.textLength));

const settingsShape = {
  format: z._default(z.enum(MESSAGE_FORMATS), "json"),
  ...filterShape,
  /** A key that is revoked is an operator's own doing. */
  states: z._default(states, ["not-ready", "silent", "cluster-unreachable", "blocked"]),
  /** Only outages of a whole site, or of all machines. */
  outagesOnly: z._default(z.boolean(), false),
  /** How long a state lasts before its receivers are notified; one that ends before is never sent. */
  delaySeconds: z._default(within(LIMIT.delaySeconds), 120),
  /** How often a lasting state is sent again. 0: never. Absent: 60 for alertmanager, which forgets; never for others. */
  repeatMinutes: z.optional(z.union([z.literal(0), within(LIMIT.repeatMinutes)])),
  /** The value of the header `authorization`. No answer contains it. */
  authorization: z.optional(
    z.string().check(z.maxLength(LIMITS.textLength), z.regex(/^[ -~]*$/, "must be ASCII")),
  ),
};

export const receiverName = z
  .string()
  .check(
    z.regex(/^[a-z\d]([-a-z\d]{0,61}[a-z\d])?$/, "must be lower case letters, digits and '-', at most 63"),
  );

/** The body of POST /v1/receivers. */
export const newReceiverSchema = z.strictObject({ name: receiverName, url, ...settingsShape });

/** The body of PUT /v1/receivers/{receiver}. An absent URL or `authorization` stays; any other absent field has its default. */
export const receiverChangeSchema = z.strictObject({
  url: z.optional(url),
  ...settingsShape,
  /** Makes a new signing secret; the one before signs nothing from then on. */
  newSecret: z._default(z.boolean(), false),
});
export type ReceiverChange = z.infer<typeof receiverChangeSchema>;

const time = z.iso.datetime({ offset: true });

/** The body of POST /v1/mutes. */
export const newMuteSchema = z.strictObject({
  ...filterShape,
  /** Absent: all states. */
  states: z._default(states, [...ALERT_STATES]),
  /** Absent: now. */
  from: z.optional(time),
  until: time,
  comment: z._default(plainText(LIMITS.textLength), ""),
});
export type NewMute = z.infer<typeof newMuteSchema>;
