// Pages of a deployment's backup: the answers to GET /v1/backup, the bodies of POST /v1/imports, and the lines of the file.
import * as z from "zod/mini";
import { BACKUP_LIMITS, LIMITS } from "./limits.ts";

/** Changes if an earlier Worker could not read the new format. */
export const BACKUP_FORMAT = 1;

/**
 * In the order of a backup. Pins come before tombstones, so that a key that is revoked during a backup is also refused
 * after the import.
 */
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
  "tombstones",
  "generation",
] as const;
export type BackupTable = (typeof BACKUP_TABLES)[number];

const cell = z.union([z.string(), z.number(), z.null()]);
export type BackupCell = z.infer<typeof cell>;

/** Rows of one table. */
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
  /** From 1 on. */
  page: z.int().check(z.minimum(1)),
  isLast: z.boolean(),
  at: z.iso.datetime(),
  deployment: z.string(),
  ...backupRowsSchema.shape,
  /** The ID of a key in KID_MAC_KEYS, a dot, and the MAC of all other fields. */
  mac: z.string().check(z.maxLength(LIMITS.textLength)),
});
export type BackupPage = z.infer<typeof backupPageSchema>;

/** 200 to GET /v1/backup. */
export const backupAnswerSchema = z.object({
  page: backupPageSchema,
  /** `after` of the next page; null on the last one. */
  next: z.nullable(z.string()),
});
export type BackupAnswer = z.infer<typeof backupAnswerSchema>;

/** The query of GET /v1/backup. */
export const backupQuerySchema = z.strictObject({
  /** The `next` of the previous page. */
  after: z.optional(z.string().check(z.maxLength(BACKUP_LIMITS.cursorLength))),
});

/** 200 to GET and POST /v1/imports. */
export const importStateSchema = z.object({
  /** null if nothing was imported. */
  import: z.nullable(
    z.object({
      /** The backup's ID. */
      id: z.string(),
      isDone: z.boolean(),
      at: z.string(),
      who: z.string(),
      /** The next page; once the import is done, the number after the last page. */
      nextPage: z.number(),
      /** The number of machines in the backup whose keys are valid. */
      machines: z.number(),
      /** The number of machines that have reported since. */
      back: z.number(),
      /** The first names of the others. */
      notBack: z.array(z.string()),
    }),
  ),
});
export type ImportState = z.infer<typeof importStateSchema>;
