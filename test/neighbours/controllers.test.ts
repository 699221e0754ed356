// Runs the experiments with further controllers of kube-controller-manager.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["controllers", "hints"]);
