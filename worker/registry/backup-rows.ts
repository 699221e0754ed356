// Describes the tables of a backup: the schema of each table's rows, whose fields are the table's columns in their
// order. An import checks each row before anything is written. The schemas accept all rows of earlier versions.
import * as z from "zod/mini";
import { validateNodeName } from "../../shared/node/node-name.ts";
import type { BackupRows, BackupTable } from "../../shared/protocol/backup.ts";
import { grantShape } from "../../shared/protocol/join-tokens.ts";
import { receiverChangeSchema, receiverName } from "../../shared/protocol/receiver-api.ts";
import { count, firstFault, within } from "../../shared/protocol/schema.ts";
import { isStoredRole } from "./operators.ts";

const text = z.string();
/** Milliseconds since 1970, or null. */
const timeOrNull = z.nullable(count);
const nodeName = text.check(z.refine((name) => validateNodeName(name).length === 0, "not a Node's name"));
/** A thumbprint of a key, or the ID of a token, which is a thumbprint as well. */
const thumbprint = text.check(z.regex(/^[\w-]{1,43}$/));

/** Returns the schema of a text with JSON of this schema. */
const jsonOf = (schema: z.ZodMiniType) =>
  text.check(
    z.refine((json) => {
      try {
        return schema.safeParse(JSON.parse(json)).success;
      } catch {
        return false;
      }
    }, "not the JSON of this column"),
  );

const LOG = z.strictObject({ id: count, at_ms: count, who: text, what: text, target: text, detail: text });

export const BACKUP_ROWS = {
  deployment: z.strictObject({ what: text, name: text, check: text }),
  pins: z.strictObject({
    name: nodeName,
    thumbprint,
    next_thumbprint: z.nullable(thumbprint),
    next_key: z.nullable(text),
    generation: count,
    token: text,
    machine: jsonOf(z.object({ key: text, machineID: text, systemUUID: text, address: text })),
    pinned_at_ms: count,
    reported_at_ms: timeOrNull,
    revoked_at_ms: timeOrNull,
  }),
  enrolments: z.strictObject({ token: text, name: nodeName, thumbprint, admitted_at_ms: count }),
  tokens: z.strictObject({
    id: thumbprint,
    key: text,
    names: text,
    rejoin: within([0, 1]),
    uses: count,
    used: count,
    allowed: jsonOf(z.strictObject({ ...grantShape, exactNames: z.optional(z.boolean()) })),
    created_at_ms: count,
    created_by: text,
    expires_at_ms: count,
    revoked_at_ms: timeOrNull,
  }),
  operators: z.strictObject({
    name: text,
    role: text.check(z.refine(isStoredRole, "not a role")),
    sha256: text.check(z.regex(/^(selected )?[\w-]{43}$/)),
    created_at_ms: count,
    created_by: text,
    expires_at_ms: count,
    used_at_ms: timeOrNull,
    revoked_at_ms: timeOrNull,
  }),
  audit: LOG,
  machine_log: LOG,
  // The fleet index opens `sealed`, and checks what it finds. A mute's filter has the fields of a receiver's.
  receivers: z.strictObject({ name: receiverName, settings: jsonOf(receiverChangeSchema), sealed: text }),
  mutes: z.strictObject({
    from_ms: count,
    until_ms: count,
    filter: jsonOf(receiverChangeSchema),
    comment: text,
    who: text,
  }),
  rule_sets: z.strictObject({
    revision: count,
    // The registry reads these fields, and machines' objects check the rest.
    objects: jsonOf(z.array(z.object({ metadata: z.object({ name: text }) }))),
    created_at_ms: count,
    created_by: text,
  }),
  tombstones: z.strictObject({ thumbprint, name: text, left_at_ms: count, why: text }),
  generation: z.strictObject({ only: count, value: count }),
} as const satisfies Record<BackupTable, z.ZodMiniObject>;

export const columnsOf = (table: BackupTable) => Object.keys(BACKUP_ROWS[table].shape);

/** Returns the first fault of a page's rows, with its place, for an operator; null if all rows are valid. */
export function rowsFault({ table, columns, rows }: BackupRows): string | null {
  if (columns.length === 0) return `${table} has no columns: use a whole, unchanged file of rollcall export`;
  const known = columnsOf(table);
  if (!columns.every((column) => known.includes(column)))
    return `the backup is of a newer version, which stores more of ${table}: deploy that version first`;
  for (const [index, row] of rows.entries()) {
    const parsed = BACKUP_ROWS[table].safeParse(
      Object.fromEntries(columns.map((column, at) => [column, row[at]])),
    );
    const { path, message } = parsed.success ? { path: "", message: "" } : firstFault(parsed.error);
    if (!parsed.success || row.length !== columns.length)
      return `row ${index + 1} of ${table}, ${path || "its length"}: ${message || "not the columns'"}`;
  }
  return null;
}
