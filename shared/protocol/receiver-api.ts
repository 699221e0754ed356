// Defines the bodies of operators' requests about receivers and mutes (answers: receiver-answers.ts).
import * as z from "zod/mini";
import { LIMITS, NOTIFICATION_LIMITS as LIMIT } from "./limits.ts";
import { labelSelector, plainText, within } from "./schema.ts";

/** The states that a receiver can be notified of. */
export const ALERT_STATES = ["not-ready", "silent", "cluster-unreachable", "blocked", "revoked"] as const;

/** The formats of the messages to a receiver. */
export const MESSAGE_FORMATS = ["json", "slack", "alertmanager"] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

const selector = labelSelector(LIMITS.textLength);
const names = z
  .string()
  .check(
    z.maxLength(LIMITS.nameLength),
    z.regex(/^[-.*a-z\d]*$/, "must be a name, or a pattern such as edge-*"),
  );
const filterShape = {
  /** A label selector in kubectl's syntax: `site=berlin,tier!=gpu`. "" matches all machines. */
  selector: z._default(selector, ""),
  /** A name, or a pattern whose `*` matches any text without a dot. "" matches all names. */
  names: z._default(names, ""),
};
const states = z.array(z.enum(ALERT_STATES)).check(z.minLength(1), z.maxLength(ALERT_STATES.length));

const url = z.string().check(z.minLength(1), z.maxLength(LIMITS.textLength));

const settingsShape = {
  format: z._default(z.enum(MESSAGE_FORMATS), "json"),
  ...filterShape,
  /** The states that the receiver is notified of. Not `revoked` by default: an operator revokes a key on purpose. */
  states: z._default(states, ["not-ready", "silent", "cluster-unreachable", "blocked"]),
  /** true if the receiver is notified only of outages: a whole site, or all machines, are silent. */
  outagesOnly: z._default(z.boolean(), false),
  /** true if an alert about a machine that is not ready has the machine's own diagnosis. */
  withDiagnosis: z._default(z.boolean(), false),
  /** Seconds for which a state has to last before the receiver is notified. A state that ends earlier is never sent. */
  delaySeconds: z._default(within(LIMIT.delaySeconds), 120),
  /** Minutes between repetitions of an alert; 0 means never. If absent: 60 for alertmanager, never for others. */
  repeatMinutes: z.optional(z.union([z.literal(0), within(LIMIT.repeatMinutes)])),
  /** The value of the header `authorization`. No answer contains the value. */
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

/**
 * The body of PUT /v1/receivers/{receiver}. An absent `url` or `authorization` stays; other fields get a default.
 * A `url` of another origin forgets `authorization`, and makes a new signing secret.
 */
export const receiverChangeSchema = z.strictObject({
  url: z.optional(url),
  ...settingsShape,
  /** true to make a new signing secret. The old secret then signs no more messages. */
  newSecret: z._default(z.boolean(), false),
});
export type ReceiverChange = z.infer<typeof receiverChangeSchema>;

const time = z.iso.datetime({ offset: true });

/** Names and patterns, separated by commas. */
const muteNames = z
  .string()
  .check(
    z.maxLength(LIMIT.muteNamesLength),
    z.regex(
      /^[-.*a-z\d]*(,[-.*a-z\d]+)*$/,
      "must be names, or patterns such as edge-*, with commas between them",
    ),
  );

/** The body of POST /v1/mutes. A mute without a limit to some machines needs `allMachines`. */
export const newMuteSchema = z
  .strictObject({
    selector: z.optional(selector),
    names: z.optional(muteNames),
    /** true to mute all machines. */
    allMachines: z.optional(z.boolean()),
    /** The muted states. If absent, all states. */
    states: z._default(states, [...ALERT_STATES]),
    /** The start of the mute. If absent, now. */
    from: z.optional(time),
    until: time,
    comment: z._default(plainText(LIMITS.textLength), ""),
  })
  .check(
    z.superRefine(({ selector, names, allMachines }, context) => {
      const refuse = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if (selector || names) {
        if (allMachines) refuse("allMachines", "must not be true with `selector` or `names`");
      } else if (!allMachines && (allMachines === false || selector === "" || names === ""))
        // For one version, a body with none of the three fields mutes all machines, as before.
        refuse(
          selector === undefined ? "names" : "selector",
          "must name machines; `allMachines: true` mutes all",
        );
    }),
  );
type MuteBody = z.infer<typeof newMuteSchema>;
export type NewMute = Omit<MuteBody, "allMachines"> & { selector: string; names: string };

/** Returns the mute of a body. */
export function newMute(body: MuteBody): NewMute {
  const { allMachines: _, selector = "", names = "", ...mute } = body;
  return { ...mute, selector, names };
}
