// How much of a machine's hardware its facts may list. Apart from the schema: the program that looks needs no more.
export const INVENTORY_LIMITS = {
  /** Characters of a name, a model, a serial number. */
  textLength: 128,
  disks: 64,
  gpus: 64,
  networkCards: 64,
} as const;
