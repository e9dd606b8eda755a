//go:build race

package fair_test

// The race detector makes sync.Pool forget at random.
const raceDetector = true
