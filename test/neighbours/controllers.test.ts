// Runs the experiments with the controllers of kube-controller-manager other than the node controller.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["controllers", "hints"]);
