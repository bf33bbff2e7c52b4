package report

import "time"

// NumSpeeds is how many buckets a Speed has, fastestSpeed where the first ends.
const (
	NumSpeeds    = 13
	fastestSpeed = 25 * time.Millisecond
)

// Speed counts times to first token. The first bucket is below 25 ms, each of
// the others reaches twice as far as the one before: 50 ms, 100 ms, to 51.2 s.
// The last one has everything from there.
type Speed [NumSpeeds]int64

// SpeedBound is where a bucket, from 0, ends; the last one ends at twice its
// beginning, as far as quantiles are concerned.
func SpeedBound(bucket int) time.Duration { return fastestSpeed << bucket }

// Count adds a time to first token, from a microsecond up.
func (s *Speed) Count(d time.Duration) {
	bucket := 0
	for bucket < NumSpeeds-1 && d >= SpeedBound(bucket) {
		bucket++
	}
	s[bucket]++
}

// Add adds o to s, bucket by bucket.
func (s *Speed) Add(o *Speed) {
	for i := range s {
		s[i] += o[i]
	}
}

// Answers is how many times were counted.
func (s *Speed) Answers() (n int64) {
	for _, v := range s {
		n += v
	}
	return n
}

// Median is the time that half of the answers took at most; 0 where there are
// none.
func (s *Speed) Median() time.Duration { return s.Quantile(50) }

// P95 is the time that 95 of 100 answers took at most; 0 where there are none.
func (s *Speed) P95() time.Duration { return s.Quantile(95) }

// Quantile is the time that so many percent of the answers, from 1 to 100, took
// at most: as if those of a bucket lay evenly in it, so it is off by less than
// the width of the bucket. It is 0 where there are no answers.
func (s *Speed) Quantile(percent int64) time.Duration {
	rank := float64(s.Answers()) * float64(percent) / 100
	before := 0.0
	for i, n := range s {
		if n == 0 || before+float64(n) < rank {
			before += float64(n)
			continue
		}
		from := time.Duration(0)
		if i > 0 {
			from = SpeedBound(i - 1)
		}
		within := float64(SpeedBound(i)-from) * (rank - before) / float64(n)
		return (from + time.Duration(within)).Truncate(time.Microsecond)
	}
	return 0
}
