// What the keys do, in a dialog.
import { usePage } from "../page.ts";
import { Dialog } from "../parts/dialog.tsx";

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
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
