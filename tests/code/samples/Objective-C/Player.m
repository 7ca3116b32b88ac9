// Plays what is queued.
#import <Foundation/Foundation.h>
#import "Player.h"
@import AVFoundation;

NS_ASSUME_NONNULL_BEGIN

@class Track;

typedef NS_ENUM(NSInteger, PlayerState) {
    PlayerStateIdle,
    PlayerStatePlaying = 2,
};

typedef void (^PlayerDone)(Track *track, NSError *_Nullable error);

/// What hears of a player.
@protocol PlayerDelegate <NSObject>
@required
- (void)player:(id)player didStart:(Track *)track;
@optional
@property (nonatomic, readonly) BOOL muted;
@end

/// Plays one track after another.
@interface Player : NSObject <PlayerDelegate, NSCopying> {
    NSInteger _count;
    NSMutableArray *_queue;
}

@property (nonatomic, strong, nullable) Track *current;
@property (nonatomic, copy) void (^finished)(BOOL ok);

/// Makes a player.
- (instancetype)initWithQueue:(NSArray<Track *> *)queue limit:(NSInteger)limit NS_DESIGNATED_INITIALIZER;
+ (instancetype)shared;
- (void)play;

@end

@interface Player (Volume)
- (void)setVolume:(float)volume;
@end

@interface Player ()
@property (nonatomic) float level;
@end

static NSString *const kPlayerKey = @"player";

static BOOL isPlayable(Track *track) {
    return [track duration] > 0;
}

@implementation Player

@synthesize muted = _muted;

+ (instancetype)shared {
    static Player *shared = nil;
    dispatch_once(&token, ^{
        shared = [[Player alloc] initWithQueue:@[] limit:10];
    });
    return shared;
}

- (instancetype)initWithQueue:(NSArray<Track *> *)queue limit:(NSInteger)limit {
    self = [super init];
    if (self && isPlayable(queue.firstObject)) {
        _queue = [queue mutableCopy];
    }
    return self;
}

- (void)play {
    for (Track *track in _queue) {
        [self.delegate player:self didStart:track];
        [self report:track with:kPlayerKey];
        [track addObserver:self selector:@selector(changed:)];
    }
    NSLog(@"played %ld", (long)_count);
}

@end

@implementation Player (Volume)

- (void)setVolume:(float)volume {
    self.level = clamp(volume);
}

@end

NS_ASSUME_NONNULL_END
