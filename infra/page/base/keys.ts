// The page's keys: one table, from which pressing them and the help that `?` opens both come.
export interface KeyBinding {
  /** As KeyboardEvent.key has it. */
  key: string;
  /** What it does, in a few words, for the help. */
  does: string;
  run: () => void;
}

/** Typing into a field, or choosing in a list, is not for the page. */
function isForField(event: KeyboardEvent): boolean {
  const target = event.target;
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

/** Runs what a key is bound to; false: nothing. A key with Ctrl, Alt or Meta is the browser's. */
export function pressed(event: KeyboardEvent, bindings: readonly KeyBinding[]): boolean {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || isForField(event))
    return false;
  if (document.querySelector("dialog[open]")) return false;
  const found = bindings.find(({ key }) => key === event.key);
  if (!found) return false;
  event.preventDefault();
  found.run();
  return true;
}
