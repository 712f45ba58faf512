//! Sixteen tests with a cassette each, and one that holds its cassette open, for recording in parallel.

use serde_json::json;
use vcr_runtime::{Vcr, vcr_test};

macro_rules! many {
    ($($name:ident)*) => {
        $(
            #[vcr_test]
            async fn $name(vcr: Vcr) {
                for step in 0..3 {
                    let request = json!({"test": stringify!($name), "step": step});
                    let answer: String = vcr
                        .intercept(&request, || async move {
                            Ok::<_, std::io::Error>(format!("{} {step}", stringify!($name)))
                        })
                        .await
                        .unwrap();
                    assert_eq!(answer, format!("{} {step}", stringify!($name)));
                }
            }
        )*
    };
}

many!(t00 t01 t02 t03 t04 t05 t06 t07 t08 t09 t10 t11 t12 t13 t14 t15);

/// Says that it is open, then waits for its input to end.
#[vcr_test]
async fn holds_its_cassette(vcr: Vcr) {
    let _: u32 = vcr
        .intercept(&json!({"q": 1}), || async { Ok::<_, std::io::Error>(1) })
        .await
        .unwrap();
    println!("holding");
    let mut end = String::new();
    std::io::stdin().read_line(&mut end).unwrap();
}
