//go:build !linux && !darwin

package battle

import "time"

var benchStart = time.Now()

// cpuTime is the time that passed, where that of the processor is not at hand.
func cpuTime() time.Duration { return time.Since(benchStart) }
