// Converts parts of a case's `given` into the arguments of Kubernetes' functions.
package main

import (
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// as converts JSON into a Go type.
func as[T any](raw any) T {
	var value T
	check(json.Unmarshal(must(json.Marshal(raw)), &value))
	return value
}

func nodeOf(raw any) *v1.Node {
	node := as[v1.Node](raw)
	return &node
}

func resources(raw any) v1.ResourceList {
	if raw == nil {
		return nil
	}
	return as[v1.ResourceList](raw)
}

func number(raw any) uint64 { return must(strconv.ParseUint(raw.(string), 10, 64)) }

func signed(raw any) int64 { return must(strconv.ParseInt(raw.(string), 10, 64)) }

func text(raw any) string {
	value, _ := raw.(string)
	return value
}

func truth(raw any) bool {
	value, _ := raw.(bool)
	return value
}

func instant(raw any) time.Time { return must(time.Parse(time.RFC3339, raw.(string))) }

func address(raw any) net.IP {
	if written, ok := raw.(string); ok {
		return net.ParseIP(written)
	}
	return nil
}

// failure returns the error of a text; an aggregate of a list; nil of null.
func failure(raw any) error {
	switch value := raw.(type) {
	case nil:
		return nil
	case string:
		return errors.New(value)
	case []any:
		var all []error
		for _, each := range value {
			all = append(all, failure(each))
		}
		return utilerrors.NewAggregate(all)
	}
	panic("not an error")
}

func errorText(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

// listed returns the texts, and [] for none.
func listed(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// event is an event as the recordings have it.
type event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// recorder collects the events or calls of a case.
type recorder struct{ events []any }

func newRecorder() *recorder { return &recorder{events: []any{}} }

func (r *recorder) add(each any) { r.events = append(r.events, each) }

func decimal(value int64) string { return strconv.FormatInt(value, 10) }

// machineOf returns cAdvisor's description of a machine, or the error of a case.
func machineOf(given object) (*machine, error) {
	if err := failure(given["machineInfoError"]); err != nil {
		return nil, err
	}
	info := given["machineInfo"].(object)
	described := &machine{
		NumCores:       int(info["numCores"].(float64)),
		MemoryCapacity: number(info["memoryCapacity"]),
		MachineID:      text(info["machineID"]),
		SystemUUID:     text(info["systemUUID"]),
		BootID:         text(info["bootID"]),
	}
	if swap, ok := info["swapCapacity"]; ok {
		described.SwapCapacity = number(swap)
	}
	for _, each := range info["hugePages"].([]any) {
		size := each.(object)
		described.HugePages = append(described.HugePages,
			hugePages{PageSize: number(size["pageSize"]), NumPages: number(size["numPages"])})
	}
	return described, nil
}

func versionsOf(given object) func() (*versionsOfOS, error) {
	return func() (*versionsOfOS, error) {
		if err := failure(given["versionInfoError"]); err != nil {
			return nil, err
		}
		return &versionsOfOS{
			KernelVersion:      text(given["versionInfo"].(object)["kernelVersion"]),
			ContainerOsVersion: text(given["versionInfo"].(object)["containerOsVersion"]),
		}, nil
	}
}
