// A backup of a deployment, page by page: what GET /v1/backup answers, POST /v1/imports takes, and a line of the file is.
import * as z from "zod/mini";
import { BACKUP_LIMITS, LIMITS } from "./limits.ts";

/** Changes with whatever an older Worker could not read. */
export const BACKUP_FORMAT = 1;

/**
 * In this order: keys are read before what refuses them, so that a key that is refused while pages are read is refused after
 * an import as well.
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
  /** Of the backup. */
  id: z.string().check(z.regex(/^[\w-]{1,64}$/)),
  /** From 1 on. */
  page: z.int().check(z.minimum(1)),
  isLast: z.boolean(),
  at: z.iso.datetime(),
  deployment: z.string(),
  ...backupRowsSchema.shape,
  /** The ID of a key of KID_MAC_KEYS, a point, and its MAC of everything else. */
  mac: z.string().check(z.maxLength(LIMITS.textLength)),
});
export type BackupPage = z.infer<typeof backupPageSchema>;

/** 200 to GET /v1/backup. */
export const backupAnswerSchema = z.object({
  page: backupPageSchema,
  /** `after` of the next page; null: this is the last one. */
  next: z.nullable(z.string()),
});
export type BackupAnswer = z.infer<typeof backupAnswerSchema>;

/** The query of GET /v1/backup. */
export const backupQuerySchema = z.strictObject({
  /** The `next` of the page before. */
  after: z.optional(z.string().check(z.maxLength(BACKUP_LIMITS.cursorLength))),
});

/** 200 to GET and POST /v1/imports. */
export const importStateSchema = z.object({
  /** null: nothing was imported. */
  import: z.nullable(
    z.object({
      /** Of the backup. */
      id: z.string(),
      isDone: z.boolean(),
      at: z.string(),
      who: z.string(),
      /** The page that is expected; of one that is done, one behind its last. */
      nextPage: z.number(),
      /** Machines that the backup has, whose keys are good. */
      machines: z.number(),
      /** How many of them have reported since. */
      back: z.number(),
      /** The first of the others, by name. */
      notBack: z.array(z.string()),
    }),
  ),
});
export type ImportState = z.infer<typeof importStateSchema>;
