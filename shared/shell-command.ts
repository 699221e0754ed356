// Writes commands for people, who paste them into a shell.

/** Returns a command as one line for a shell, with quotes where needed. */
export function shellCommand(command: readonly string[]): string {
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(" ");
}
