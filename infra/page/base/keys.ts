// The page's keyboard shortcuts: one table for the key handler and for the help that `?` opens.
export interface KeyBinding {
  /** The value of KeyboardEvent.key. */
  key: string;
  does: string;
  run: () => void;
}

/** Shortcuts are off while the operator types into a field or chooses from a list. */
function isForField(event: KeyboardEvent): boolean {
  const target = event.target;
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

/** Runs the shortcut of a key and returns true if there is one. Keys with Ctrl, Alt or Meta stay with the browser. */
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
