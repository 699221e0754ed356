// Defines the pages of a backup: answers to GET /v1/backup, bodies of POST /v1/imports, and lines of the file.
import * as z from "zod/mini";
import { BACKUP_LIMITS, LIMITS } from "./limits.ts";

/** The version of the backup's format, which changes if earlier Workers cannot read the new format. */
export const BACKUP_FORMAT = 1;

/** The tables in a backup's order: pins before tombstones, so that a key revoked meanwhile is refused afterwards. */
export const BACKUP_TABLES = [
  "deployment",
  "pins",
  "enrolments",
  "tokens",
  "operators",
  "audit",
  "machine_log",
  "receivers",
  "mutes",
  "rule_sets",
  "tombstones",
  "generation",
] as const;
/** The tables that backups of versions before the statement of tables do not have. */
export const LATER_TABLES: readonly string[] = ["rule_sets"];
export type BackupTable = (typeof BACKUP_TABLES)[number];

const cell = z.union([z.string(), z.number(), z.null()]);
export type BackupCell = z.infer<typeof cell>;

/** The rows of one table. */
export const backupRowsSchema = z.strictObject({
  table: z.enum(BACKUP_TABLES),
  columns: z.array(z.string()),
  rows: z.array(z.array(cell)),
});
export type BackupRows = z.infer<typeof backupRowsSchema>;

export const backupPageSchema = z.strictObject({
  rollcallBackup: z.literal(BACKUP_FORMAT),
  /** The backup's ID. */
  id: z.string().check(z.regex(/^[\w-]{1,64}$/)),
  /** The page's number, from 1 on. */
  page: z.int().check(z.minimum(1)),
  isLast: z.boolean(),
  at: z.iso.datetime(),
  deployment: z.string(),
  ...backupRowsSchema.shape,
  /** The MAC of all other fields, after the ID of its key in KID_MAC_KEYS and a dot. */
  mac: z.string().check(z.maxLength(LIMITS.textLength)),
});
export type BackupPage = z.infer<typeof backupPageSchema>;

/** The query of GET /v1/backup. */
export const backupQuerySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z.optional(z.string().check(z.maxLength(BACKUP_LIMITS.cursorLength))),
});
