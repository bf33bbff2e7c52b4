package report

import "time"

// NumSpeeds is the number of buckets of a Speed, and fastestSpeed the end of the first one.
const (
	NumSpeeds    = 13
	fastestSpeed = 25 * time.Millisecond
)

// Speed is a histogram of times to first token. The first bucket ends at 25 ms, and each next one at twice the time: 50
// ms, 100 ms, to 51.2 s. The last bucket counts all longer times.
type Speed [NumSpeeds]int64

// SpeedBound returns the end of a bucket, from 0. For quantiles the last bucket ends at twice its start.
func SpeedBound(bucket int) time.Duration { return fastestSpeed << bucket }

// Count adds a time to first token, of at least a microsecond.
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

// Answers returns the number of counted times.
func (s *Speed) Answers() (n int64) {
	for _, v := range s {
		n += v
	}
	return n
}

// Median returns the time that half of the answers did not exceed; 0 without answers.
func (s *Speed) Median() time.Duration { return s.Quantile(50) }

// P95 returns the time that 95 % of the answers did not exceed; 0 without answers.
func (s *Speed) P95() time.Duration { return s.Quantile(95) }

// Quantile returns the time that the given percentage of the answers, from 1 to 100, did not exceed. It interpolates
// within a bucket, so the error is less than the bucket's width. It is 0 without answers.
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
