//! A small generator of pseudo-random numbers, the same on every machine.

/// xoshiro256** of Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM Trans. Math. Softw. 47
/// (2021), seeded through splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014). For resampling and for shuffling the order of conditions; not for secrets.
///
/// ```
/// use swtch_stats::Rng;
/// assert_eq!(Rng::new(7).next_u64(), Rng::new(7).next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose sequence is determined by `seed`; every seed is a good one (Blackman and Vigna 2021, §5).
    ///
    /// ```
    /// assert_ne!(swtch_stats::Rng::new(0).next_u64(), swtch_stats::Rng::new(1).next_u64());
    /// ```
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let state = std::array::from_fn(|_| splitmix64(&mut counter));
        Self { state }
    }

    /// The next 64 uniform bits (Blackman and Vigna 2021, fig. 1).
    ///
    /// ```
    /// let mut rng = swtch_stats::Rng::new(1);
    /// assert_ne!(rng.next_u64(), rng.next_u64());
    /// ```
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A uniform integer in `0..n` without bias: Lemire, "Fast random integer generation in an interval", ACM Trans.
    /// Model. Comput. Simul. 29 (2019). 0 when `n` is 0.
    ///
    /// ```
    /// let mut rng = swtch_stats::Rng::new(1);
    /// assert!((0..100).all(|_| rng.below(6) < 6));
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // A product whose low half falls in the first 2^64 mod n places would make some results likelier.
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// A uniform number in 0..1 (1 excluded) on a grid of 2^-53 (Blackman and Vigna 2021, §5.1).
    ///
    /// ```
    /// let value = swtch_stats::Rng::new(1).unit_f64();
    /// assert!((0.0..1.0).contains(&value));
    /// ```
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Puts the items in random order, every order equally likely: Durstenfeld, "Algorithm 235: Random permutation",
    /// Communications of the ACM 7 (1964).
    ///
    /// ```
    /// let mut order = [1, 2, 3, 4];
    /// swtch_stats::Rng::new(3).shuffle(&mut order);
    /// order.sort();
    /// assert_eq!(order, [1, 2, 3, 4]);
    /// ```
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
impl Rng {
    /// A standard normal number for tests: Box and Muller, "A note on the generation of random normal deviates", Ann.
    /// Math. Statist. 29 (1958). Not public, because `cos` and `ln` may differ in the last digit between machines.
    pub(crate) fn gauss(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit_f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit_f64()).cos()
    }
}

fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_generators() {
        // splitmix64 from 1234567: the sequence the authors' C program prints.
        let mut counter = 1_234_567;
        let drawn: Vec<u64> = (0..3).map(|_| splitmix64(&mut counter)).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        // xoshiro256** from the state 1, 2, 3, 4: the sequence the authors' C program prints.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(drawn, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn below_is_even_over_a_small_range() {
        let mut rng = Rng::new(5);
        let mut seen = [0_u32; 3];
        for _ in 0..30_000 {
            seen[rng.below(3) as usize] += 1;
        }
        // Four standard deviations of a binomial with n = 30,000 and p = 1/3.
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 330), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn shuffle_reaches_every_order_evenly() {
        let mut rng = Rng::new(9);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *seen.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| count.abs_diff(1_000) < 120), "{seen:?}");
    }
}
