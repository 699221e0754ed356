// Defines the page's keyboard shortcuts for the key handler and for the help that `?` opens.
export interface KeyBinding {
  /** The key, as in KeyboardEvent.key. */
  key: string;
  does: string;
  run: () => void;
}

/** Returns true for a key that is typed into a field or a list of choices. Shortcuts are off there. */
function isForField(event: KeyboardEvent): boolean {
  const target = event.target;
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

/** Runs a key's shortcut, and returns true if it has one. Keys with Ctrl, Alt or Meta are the browser's. */
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
