// Loads the form of a mute on demand: for the list of mutes, a machine, and a selection of machines.
import type { MuteDialogProps } from "./mute-dialog.tsx";
import { lazyView } from "./lazy-view.tsx";

export const MuteDialog = lazyView<MuteDialogProps>(
  async () => (await import("./mute-dialog.tsx")).MuteDialog,
);
