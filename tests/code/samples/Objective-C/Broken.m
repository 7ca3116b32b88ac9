#import "Broken.h"

@implementation Broken

- (int)before {
    return 1;
}

- (void)torn:(int)a {
    if (a > ) {
        [self call:;
    }
}

- (int)after {
    return [self before];
}

@end

int outside(void) {
    return 1;
}
