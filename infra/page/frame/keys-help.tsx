// What the keys do, in a dialog.
import { usePage } from "../page.ts";
import { Dialog } from "../parts/dialog.tsx";

/** What stands on the keys, where KeyboardEvent.key says something else. */
const SIGNS: Readonly<Record<string, string>> = { ArrowLeft: "←", ArrowRight: "→", "-": "−", Escape: "Esc" };

export function KeysHelp({ onClose }: { onClose: () => void }) {
  const { viewKeys } = usePage();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[
          ...viewKeys.value,
          { key: "?", does: "shows the keys" },
          { key: "Escape", does: "closes what is open" },
        ].map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{SIGNS[key] ?? key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
