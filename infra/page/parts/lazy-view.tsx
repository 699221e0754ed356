// Makes a component whose code is loaded when first shown, with an offer to reload the page if that fails.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Notice } from "./notice.tsx";

export function lazyView<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function LazyView(props: Props) {
    const [, setRound] = useState(0);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          setRound((before) => before + 1);
        },
        () => setFailed(true),
      );
    }, []);
    if (loaded) {
      const Loaded = loaded;
      return <Loaded {...props} />;
    }
    if (!hasFailed) return <p class="quiet pad">Loading …</p>;
    return (
      <Notice kind="fault">
        <p>
          This part of the page could not be loaded: the Worker cannot be reached, or it was deployed again.
        </p>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Notice>
    );
  };
}
